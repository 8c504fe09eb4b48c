CREATE TABLE "release_notes" (
  "release" integer PRIMARY KEY NOT NULL REFERENCES "release" ("id") ON DELETE CASCADE,
  "notes" text NOT NULL
);
