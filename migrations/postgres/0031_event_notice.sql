-- A notice carries what the processes need to know of an event, so that they need not read it. It names no function:
-- everybody who may connect to the database can listen. Processes of older versions read the event.
CREATE FUNCTION "notify_event"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('krmhub', (
    SELECT CASE WHEN count(*) = 1 THEN max(concat_ws(' ', "sequence", "type", "catalog", "serial")) ELSE '' END
    FROM "added"));
  RETURN NULL;
END
$$;
--> statement-breakpoint
DROP TRIGGER "event_notify" ON "event";
--> statement-breakpoint
CREATE TRIGGER "event_notify" AFTER INSERT ON "event" REFERENCING NEW TABLE AS "added"
  FOR EACH STATEMENT EXECUTE FUNCTION "notify_event"();
--> statement-breakpoint
DROP FUNCTION "notify_processes"();
