"""The wire: frozen messages, one file per service and one for the queue. No logic lives here."""
