import { createHash } from 'node:crypto';
import { arch, platform } from 'node:os';
import type { FunctionImage } from './function-images.js';

/** Catalogs and functionConfigs as text, for tests that build with them. */

const ARCHITECTURE = arch() === 'arm64' ? 'arm64' : 'amd64';

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export interface EntryOptions {
  group?: string;
  version?: string;
}

/** An entry whose function is an image. */
export function imageEntry(
  kind: string,
  { tagged, sha256: digest }: Pick<FunctionImage, 'tagged' | 'sha256'>,
  { network, storage, ...options }: EntryOptions & { network?: boolean; storage?: boolean } = {},
): string {
  return entry(kind, options, [
    'container:',
    `  image: ${tagged}`,
    `  sha256: ${digest}`,
    ...(network === undefined ? [] : [`  requireNetwork: ${network}`]),
    ...(storage === undefined ? [] : [`  requireStorageMount: ${storage}`]),
  ]);
}

/** An entry whose function is a script. */
export function scriptEntry(
  kind: string,
  uri: string,
  script: string,
  { bin, ...options }: EntryOptions & { bin: string },
): string {
  return entry(kind, options, [
    'exec:',
    '  platforms:',
    `  - os: ${platform()}`,
    `    arch: ${ARCHITECTURE}`,
    `    bin: ${bin}`,
    `    uri: ${uri}`,
    `    sha256: ${sha256(script)}`,
  ]);
}

function entry(
  kind: string,
  { group = 'example.com', version = 'v1' }: EntryOptions,
  runtime: readonly string[],
): string {
  const lines = [
    `- group: ${group}`,
    `  names: {kind: ${kind}}`,
    `  description: What ${kind} does.`,
    `  publisher: ${group}`,
    '  versions:',
    `  - name: ${version}`,
    '    runtime:',
    ...runtime.map((line) => `      ${line}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** A definition that a registry accepts. */
export function definitionText(kind: string, runtime: object, group = 'example.com'): string {
  const version = {
    name: 'v1',
    idempotent: true,
    license: 'Apache-2.0',
    usage: `https://${group}/${kind}/README.md`,
    examples: [`https://${group}/${kind}/example.yaml`],
    runtime,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        description: 'What to do.',
        properties: { spec: { type: 'object', description: 'What to do.' } },
      },
    },
  };
  return JSON.stringify({
    apiVersion: 'config.kubernetes.io/v1alpha1',
    kind: 'KRMFunctionDefinition',
    spec: {
      group,
      names: { kind },
      description: `What ${kind} does.`,
      publisher: group,
      tags: ['mutator'],
      versions: [version],
    },
  });
}

export function catalogText(...entries: string[]): string {
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata:
  name: example-co-functions
spec:
  krmFunctions:
${entries.join('').replace(/^(?=.)/gm, '  ')}`;
}

/** A functionConfig; by hand, with the text of its function annotation. */
export function configText(
  kind: string,
  {
    runtime,
    name = kind.toLowerCase(),
    spec = 'spec: {}\n',
  }: { runtime?: string; name?: string; spec?: string } = {},
): string {
  const annotation =
    runtime === undefined
      ? ''
      : `  annotations:\n    config.kubernetes.io/function: |\n${runtime.replace(/^(?=.)/gm, '      ')}`;
  return `apiVersion: example.com/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${annotation}${spec}`;
}

export const CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  a: "1"
`;

/** A script that puts a value into every ConfigMap, and passes on the rest. */
export const setting = (key: string, value: string): string => `#!/bin/sh
exec sed 's|^  data:$|  data:\\
    ${key}: "${value}"|'
`;
