CREATE FUNCTION "notify_processes"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('krmhub', '');
  RETURN NULL;
END
$$;
--> statement-breakpoint
CREATE TRIGGER "event_notify" AFTER INSERT ON "event" FOR EACH STATEMENT EXECUTE FUNCTION "notify_processes"();
--> statement-breakpoint
CREATE UNLOGGED TABLE "leader_call" (
  "id" text COLLATE "C" PRIMARY KEY NOT NULL,
  "at" timestamptz DEFAULT clock_timestamp() NOT NULL,
  "method" text COLLATE "C" NOT NULL,
  "input" text COLLATE "C" NOT NULL,
  "outcome" text COLLATE "C"
);
--> statement-breakpoint
CREATE UNLOGGED TABLE "leader_status" (
  "id" bigint PRIMARY KEY NOT NULL,
  "status" text COLLATE "C" NOT NULL,
  "at" timestamptz NOT NULL
);
