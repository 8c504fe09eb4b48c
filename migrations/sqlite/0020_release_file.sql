CREATE TABLE "release_file" (
  "id" integer PRIMARY KEY NOT NULL,
  "digest" text NOT NULL,
  "bytes" blob NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "release_file_digest" ON "release_file" ("digest");
