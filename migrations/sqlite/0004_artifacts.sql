CREATE TABLE "oci_repository" (
  "name" text PRIMARY KEY NOT NULL,
  "bytes" integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE "oci_blob" (
  "repository" text NOT NULL REFERENCES "oci_repository" ("name"),
  "digest" text NOT NULL,
  "file" text NOT NULL,
  "place" text NOT NULL,
  "size" integer NOT NULL,
  "seen_at" text NOT NULL,
  PRIMARY KEY ("repository", "digest")
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX "oci_blob_file" ON "oci_blob" ("file");
--> statement-breakpoint
CREATE INDEX "oci_blob_other_digest" ON "oci_blob" ("digest") WHERE "digest" <> "file";
--> statement-breakpoint
CREATE TABLE "oci_manifest" (
  "id" integer PRIMARY KEY NOT NULL,
  "repository" text NOT NULL REFERENCES "oci_repository" ("name"),
  "digest" text NOT NULL,
  "media_type" text NOT NULL,
  "artifact_type" text,
  "subject" text,
  "annotations" text,
  "size" integer NOT NULL,
  "pushed_at" text NOT NULL,
  "pushed_by" text NOT NULL,
  "bytes" blob NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "oci_manifest_digest" ON "oci_manifest" ("repository", "digest");
--> statement-breakpoint
CREATE INDEX "oci_manifest_subject" ON "oci_manifest" ("repository", "subject", "digest") WHERE "subject" IS NOT NULL;
--> statement-breakpoint
CREATE TABLE "oci_reference" (
  "manifest" integer NOT NULL REFERENCES "oci_manifest" ("id") ON DELETE CASCADE,
  "repository" text NOT NULL,
  "digest" text NOT NULL,
  PRIMARY KEY ("manifest", "digest")
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX "oci_reference_digest" ON "oci_reference" ("digest", "repository");
--> statement-breakpoint
CREATE TABLE "oci_tag" (
  "repository" text NOT NULL REFERENCES "oci_repository" ("name"),
  "tag" text NOT NULL,
  "manifest" integer NOT NULL REFERENCES "oci_manifest" ("id"),
  "tagged_at" text NOT NULL,
  "tagged_by" text NOT NULL,
  PRIMARY KEY ("repository", "tag")
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX "oci_tag_manifest" ON "oci_tag" ("manifest");
--> statement-breakpoint
CREATE INDEX "takedown_digest" ON "takedown" ("digest");
--> statement-breakpoint
ALTER TABLE "token" ADD COLUMN "repositories" text NOT NULL DEFAULT '[]';
