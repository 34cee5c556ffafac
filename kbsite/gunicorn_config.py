"""gunicorn's settings for this site: `gunicorn --config kbsite/gunicorn_config.py kbsite.wsgi`."""

from indexing.shutdown import end_with_parent

# One process embeds queries for several threads: the model's handle is shared, and a call lets go of Python's lock.
worker_class = "gthread"
threads = 8
preload_app = False  # the model's threads do not survive a fork, so nothing may be embedded before it
graceful_timeout = 5
control_socket_disable = True  # nobody here controls it through a socket in the home folder

end_with_parent()
