CREATE TABLE "oci_blob_bytes" (
  "repository" text COLLATE "C" NOT NULL,
  "digest" text COLLATE "C" NOT NULL,
  "bytes" bytea NOT NULL,
  PRIMARY KEY ("repository", "digest"),
  FOREIGN KEY ("repository", "digest") REFERENCES "oci_blob" ("repository", "digest") ON DELETE CASCADE
);
