/**
 * Renders docs/internals/modules.md: every folder with source files is a module, and the header of one of its files, a
 * comment above the imports with the tag `@module`, says what it is for.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

const WORKSPACES = ['apps', 'packages'];

/** Returns the modules in the order of their paths: `{ folder, file, text }`, without `file` and `text` if none has a header. */
export async function readModules(root) {
  const modules = [];
  for (const workspace of WORKSPACES) {
    for (const name of (await readdir(join(root, workspace))).sort()) {
      await visit(join(root, workspace, name, 'src'));
    }
  }
  return modules;

  async function visit(folder) {
    const entries = await readdir(folder, { withFileTypes: true });
    const files = entries
      .map(({ name }) => name)
      .filter((name) => /\.tsx?$/.test(name) && !/\.(test|d)\.tsx?$/.test(name));
    const headers = [];
    for (const name of files.sort()) {
      const text = moduleHeader(await readFile(join(folder, name), 'utf8'));
      if (text !== undefined) headers.push({ file: name, text });
    }
    const path = relative(root, folder);
    if (headers.length > 1) {
      throw new Error(
        `${path}: several files have the header of the module: ${headers.map(({ file }) => file).join(', ')}`,
      );
    }
    if (files.length > 0) modules.push({ folder: path, ...headers[0] });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    for (const name of folders.sort()) await visit(join(folder, name));
  }
}

/** Returns the text of the comment at the top of a file if it has the tag `@module`. */
function moduleHeader(source) {
  const comment = /^\s*\/\*\*([\s\S]*?)\*\//.exec(source)?.[1];
  if (comment === undefined || !/@module\b/.test(comment)) return undefined;
  return comment
    .replace(/^\s*\* ?/gm, '')
    .replace(/@module\b/, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Returns the first sentence, without its period. */
function firstSentence(text) {
  return text.replace(/^(.*?[^.])\.(?:\s[\s\S]*)?$/, '$1').replaceAll('|', '\\|');
}

export async function renderModules(root, note) {
  const modules = await readModules(root);
  const missing = modules.filter(({ text }) => text === undefined);
  if (missing.length > 0) {
    throw new Error(`no file has a header with @module: ${missing.map(({ folder }) => folder).join(', ')}`);
  }
  const lines = [
    '# Modules',
    '',
    'A module is a folder with one job. Its main file begins with a comment that explains the design; this page shows the first',
    'sentence.',
    '',
    note,
  ];
  let workspace;
  for (const { folder, file, text } of modules) {
    const [top, name, , ...below] = folder.split('/');
    if (`${top}/${name}` !== workspace) {
      workspace = `${top}/${name}`;
      lines.push('', `## ${workspace}`, '', '| module | main file | what it is for |', '|---|---|---|');
    }
    const path = below.join('/');
    const label = path === '' ? '`src`' : `\`${path}\``;
    lines.push(`| ${label} | [${file}](../../${folder}/${file}) | ${firstSentence(text)} |`);
  }
  return `${lines.join('\n')}\n`;
}
