/** Returns the last segment of a reference, with the extension of scripts. */
export function scriptName(reference: string): string {
  const path = reference.replace(/@sha256:.*$/s, '').replace(/[?#].*$/s, '');
  const last = path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.:-]/g, '_');
  return last.endsWith('.star') ? last : `${last || 'script'}.star`;
}
