CREATE TABLE "oci_pusher" (
  "manifest" integer NOT NULL REFERENCES "oci_manifest" ("id") ON DELETE CASCADE,
  "pushed_by" text NOT NULL,
  PRIMARY KEY ("manifest", "pushed_by")
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO "oci_pusher" ("manifest", "pushed_by")
  SELECT "id", "pushed_by" FROM "oci_manifest" WHERE "subject" IS NOT NULL;
