CREATE TABLE "oci_upload" (
  "id" text COLLATE "C" PRIMARY KEY NOT NULL,
  "repository" text COLLATE "C" NOT NULL,
  "token" text COLLATE "C" NOT NULL,
  "size" bigint NOT NULL,
  "moved_at" text COLLATE "C" NOT NULL,
  "owner" text COLLATE "C"
);
CREATE TABLE "oci_upload_piece" (
  "upload" text COLLATE "C" NOT NULL REFERENCES "oci_upload" ("id") ON DELETE CASCADE,
  "start" bigint NOT NULL,
  "name" text COLLATE "C" NOT NULL,
  PRIMARY KEY ("upload", "start")
);
