CREATE TABLE "oci_upload" (
  "id" text PRIMARY KEY NOT NULL,
  "repository" text NOT NULL,
  "token" text NOT NULL,
  "size" integer NOT NULL,
  "moved_at" text NOT NULL,
  "owner" text
);
--> statement-breakpoint
CREATE TABLE "oci_upload_piece" (
  "upload" text NOT NULL REFERENCES "oci_upload" ("id") ON DELETE CASCADE,
  "start" integer NOT NULL,
  "name" text NOT NULL,
  PRIMARY KEY ("upload", "start")
);
