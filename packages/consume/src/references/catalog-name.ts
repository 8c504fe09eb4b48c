const CATALOG_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function isCatalogName(text: string): boolean {
  return CATALOG_NAME.test(text);
}

/** Reports whether a text is a serial, or the digest of the catalog.yaml of a snapshot. */
export function isSnapshotReference(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text) || /^sha256:[a-f0-9]{64}$/.test(text);
}
