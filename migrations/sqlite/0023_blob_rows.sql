-- Not a column of "oci_blob": SQLite compares whole rows of a table without rowids, also their last columns.
CREATE TABLE "oci_blob_bytes" (
  "repository" text NOT NULL,
  "digest" text NOT NULL,
  "bytes" blob NOT NULL,
  PRIMARY KEY ("repository", "digest"),
  FOREIGN KEY ("repository", "digest") REFERENCES "oci_blob" ("repository", "digest") ON DELETE CASCADE
);
