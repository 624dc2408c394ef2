"""What a prompt asks for: its language, subject and genre, dictated answers, and the texts and facts in it."""
