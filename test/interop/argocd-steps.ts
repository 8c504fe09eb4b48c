import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { documentBlocks } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, root } from '../running.js';
import type { PluginManifest } from './plugin-server.js';
import type { SampleShop } from './sample-shop.js';

/** The steps of docs/argocd.md. */

export const deploy = path.join(root, 'deploy/argocd');
export const plugin = parse(readFileSync(path.join(deploy, 'plugin.yaml'), 'utf8')) as PluginManifest;
const documented = documentBlocks('docs/argocd.md', 'argocd') as [string, string, string, string];
export const [lockBlock, imageBlock, trustBlock, installBlock, ...moreBlocks] = documented;

/** The variables of the sidecar, and a search path with krmhub. */
export function sidecar(home: string, temporary: string, trust: string): NodeJS.ProcessEnv {
  return cleanEnvironment(home, {
    KRMHUB_TRUST: trust,
    KRMHUB_CACHE: path.join(home, 'cache'),
    TMPDIR: temporary,
    PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
  });
}

export function shell(script: string, cwd: string, env: NodeJS.ProcessEnv): void {
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd,
    env,
    encoding: 'utf8',
  });
  expect(status, `${script}\n${stdout}${stderr}`).toBe(0);
}

const documentedCatalog = 'https://krm.example.com/catalogs/platform';

/** Makes the trust file of the plugin as docs/argocd.md does. */
export function trustFile(home: string, shop: SampleShop): string {
  cpSync(deploy, path.join(home, 'deploy/argocd'), { recursive: true });
  mkdirSync(path.join(home, 'my-argocd'));
  writeFileSync(path.join(home, 'registry.pub'), shop.key);
  shell(trustBlock.replaceAll(documentedCatalog, shop.catalog), home, sidecar(home, home, ''));
  return path.join(home, 'my-argocd/krmhub/trust.yaml');
}

/** Locks the functions of the application as docs/argocd.md does. */
export function lockShop(home: string, repository: string, shop: SampleShop): void {
  writeFileSync(path.join(repository, 'registry.pub'), shop.key);
  const developer = sidecar(path.join(home, 'developer'), home, path.join(home, 'developer/trust.yaml'));
  shell(`git init --quiet\n${lockBlock.replaceAll(documentedCatalog, shop.catalog)}`, repository, developer);
}
