"""Responses of Yandex AI Studio: their requests, and their answers in the form of each edition."""
