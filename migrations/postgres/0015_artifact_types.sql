ALTER TABLE "oci_blob"
  ALTER COLUMN "seen_at" TYPE timestamptz USING "seen_at"::timestamptz;
ALTER TABLE "oci_manifest"
  ALTER COLUMN "pushed_at" TYPE timestamptz USING "pushed_at"::timestamptz;
ALTER TABLE "oci_tag"
  ALTER COLUMN "tagged_at" TYPE timestamptz USING "tagged_at"::timestamptz;
ALTER TABLE "oci_upload"
  ALTER COLUMN "moved_at" TYPE timestamptz USING "moved_at"::timestamptz;
