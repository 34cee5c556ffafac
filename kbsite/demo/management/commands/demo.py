"""`manage.py demo`: everything on one machine, with sample documents. (The helper of the demo is writing this right now.)"""
