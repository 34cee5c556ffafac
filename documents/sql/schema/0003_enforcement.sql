-- What the application's role may not change by hand. A file of a migration never changes after it has landed: what replaces a function of it stands in a later one.
SELECT 1;
