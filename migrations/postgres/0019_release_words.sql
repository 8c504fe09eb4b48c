CREATE TABLE "release_words" (
  "release" bigint PRIMARY KEY REFERENCES "release" ("id") ON DELETE CASCADE,
  "fields" text NOT NULL,
  "readme" text NOT NULL
);
