CREATE TABLE "profile_form" (
  "snapshot" text NOT NULL,
  "profile" text NOT NULL,
  "revision" integer NOT NULL,
  "digest" text NOT NULL,
  "report" text NOT NULL,
  PRIMARY KEY ("snapshot", "profile")
);
