CREATE TABLE "release_notes" (
  "release" bigint PRIMARY KEY REFERENCES "release" ("id") ON DELETE CASCADE,
  "notes" text NOT NULL
);
