CREATE INDEX "trusted_publisher_issuer" ON "trusted_publisher" ("issuer", "group_name");
