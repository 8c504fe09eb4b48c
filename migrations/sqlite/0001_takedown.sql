CREATE TABLE "takedown" (
  "id" integer PRIMARY KEY NOT NULL,
  "group_name" text NOT NULL,
  "kind" text NOT NULL,
  "kind_folded" text NOT NULL,
  "release" text NOT NULL,
  "digest" text NOT NULL,
  "readme" text,
  "revision" integer NOT NULL,
  "at" text NOT NULL,
  "by" text NOT NULL,
  "token" text,
  "reason" text NOT NULL,
  "finished" integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "takedown_release" ON "takedown" ("group_name", "kind_folded", "release");
--> statement-breakpoint
ALTER TABLE "snapshot" ADD COLUMN "withdrawn" text;
--> statement-breakpoint
CREATE INDEX "event_revocation" ON "event" ("sequence")
  WHERE "type" IN ('release.yanked', 'release.unyanked', 'release.taken-down', 'catalog.withdrawn');
