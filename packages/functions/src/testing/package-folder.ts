import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';

const folders: string[] = [];

/** Makes a folder with these files, which is removed after the test. */
export function packageFolder(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-package-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

export function removePackageFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Call it in a test file that makes packages. */
export function usePackageFolders(): void {
  afterEach(removePackageFolders);
}

/** Returns everything in a folder, hidden files included, by path. */
export function folderContent(folder: string, base = ''): Record<string, string> {
  const content: Record<string, string> = {};
  for (const entry of readdirSync(path.join(folder, base), { withFileTypes: true })) {
    const at = path.posix.join(base, entry.name);
    if (entry.isDirectory()) Object.assign(content, folderContent(folder, at));
    else if (entry.isFile()) content[at] = readFileSync(path.join(folder, at), 'utf8');
    else content[at] = '<link>';
  }
  return content;
}

/** A ConfigMap as kyaml writes it. */
export function configMap(name: string, value = 'a'): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  value: ${value}\n`;
}
