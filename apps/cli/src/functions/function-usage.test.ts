import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { functionUsage, pinnedImage, toYaml, type UsageSection, type UsageTopic } from '@krmhub/catalog';
import { describeConfig, type JsonObject, readYaml } from '@krmhub/schema';
import { sha256 as digestOf } from '@krmhub/schema/digest';
import { functionDefinition, functionVersion } from '@krmhub/schema/testing/functions';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../testing/command-line.js';
import { configRows } from './config-rows.js';

const execute = promisify(execFile);
const sha256 = 'a'.repeat(64);
const schema: JsonObject = {
  type: 'object',
  required: ['charts', 'mode', 'port', 'labels'],
  properties: {
    apiVersion: { type: 'string' },
    charts: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['name'],
        properties: { version: { type: 'string', default: 'newest' }, name: { type: 'string' } },
      },
    },
    mode: { type: 'string', enum: ['fast', 'safe'] },
    port: { type: 'integer', minimum: 0, exclusiveMinimum: true },
    labels: {
      type: 'object',
      additionalProperties: { type: 'object', properties: { value: { type: 'string' } } },
    },
    extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};
const definition = functionDefinition({
  names: { kind: 'RenderChart' },
  tags: ['generator'],
  versions: [
    functionVersion('v1', {
      schema: { openAPIV3Schema: schema },
      runtime: { container: { image: 'registry.example.com:5000/charts:v1', sha256, requireNetwork: true } },
    }),
  ],
});

const sections = () =>
  functionUsage(definition, definition.versions[0]!, { schema: 'https://example.com/s.json' }).sections;
const parse = (text: string) => readYaml(Buffer.from(text), { file: 'x' }).documents[0]!.value;
const snippets = (all: UsageSection[], topic: UsageTopic) =>
  all.find((section) => section.topic === topic)!.parts.flatMap(({ snippet }) => snippet ?? []);

describe('configRows', () => {
  it('lists nested fields, lists, and maps with descriptions, required fields first', () => {
    const { fields, notes } = configRows(describeConfig(definition, 'v1'));
    expect(notes).toEqual([]);
    expect(fields).toEqual([
      ['charts', 'list of object', 'yes', 'At least 1 item.'],
      ['charts[].name', 'string', 'yes', ''],
      ['charts[].version', 'string', 'no', 'Default: newest.'],
      ['mode', 'string', 'yes', 'One of fast, safe.'],
      ['port', 'integer', 'yes', 'More than 0.'],
      ['labels', 'map of <key>: object', 'yes', ''],
      ['labels.<key>.value', 'string', 'no', ''],
      ['extra', 'object', 'no', 'Any fields.'],
    ]);
  });

  it('reports that there are no fields', () => {
    const [version] = definition.versions;
    const none = {
      ...definition,
      versions: [{ ...version!, schema: { openAPIV3Schema: { type: 'object' } } }],
    };
    expect(configRows(describeConfig(none, 'v1'))).toEqual({
      fields: [],
      notes: ['The functionConfig has no fields.'],
    });
  });
});

describe('the example of a functionConfig', () => {
  it('contains required fields: a default, an enum value, a number in bounds, a placeholder', () => {
    const [config] = snippets(sections(), 'config');
    const container = { image: `registry.example.com:5000/charts@sha256:${sha256}`, network: true };
    expect(parse(config!)).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'RenderChart',
      metadata: {
        name: 'render-chart',
        annotations: {
          'config.kubernetes.io/function': toYaml({ container }),
          'config.kubernetes.io/local-config': 'true',
        },
      },
      charts: [{ version: 'newest', name: 'example' }],
      mode: 'fast',
      port: 1,
      labels: { key: { value: 'example' } },
    });
  });
});

describe('an executable', () => {
  const usage = (uri: string, digest: string, bin = 'check-owner') =>
    functionUsage(
      definition,
      functionVersion('v1', {
        runtime: { exec: { platforms: [{ os: 'linux', arch: 'amd64', bin, uri, sha256: digest }] } },
      }),
      { schema: 'https://example.com/s.json' },
    ).sections.flatMap(({ parts }) => parts);

  it('is downloaded, verified, and made executable by what is printed', async () => {
    const program = '#!/bin/sh\necho ran\n';
    const server = createServer((_, response) => response.end(program)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/check-owner_linux_amd64`;
    try {
      const bash = async (digest: string) => {
        const folder = temporaryFolder();
        const parts = usage(uri, digest);
        expect(parts.some(({ text = '' }) => text.includes('unpack'))).toBe(false);
        const command = parts.find(({ snippet }) => snippet?.startsWith('curl '))!.snippet!;
        return await execute('bash', ['-c', `${command}./check-owner`], { cwd: folder });
      };
      expect((await bash(digestOf(program).slice('sha256:'.length))).stdout).toMatch(/ran\n$/);
      await expect(bash(sha256)).rejects.toThrow('check-owner');
    } finally {
      server.close();
    }
  });

  it.each([
    ['https://example.com/check-owner.tar.gz', 'check-owner'],
    ['https://example.com/check-owner', 'bin/check-owner'],
    [`oci://example.com/check-owner@sha256:${sha256}`, 'check-owner'],
  ])('in %s, which may be an archive, is to be unpacked', (uri, bin) => {
    const parts = usage(uri, sha256, bin);
    expect(parts.some(({ text = '' }) => text.includes('unpack'))).toBe(true);
    expect(parts.some(({ snippet = '' }) => snippet.startsWith('curl '))).toBe(false);
  });
});

describe('pinnedImage', () => {
  it.each([
    [{ image: 'example.com/a:v1', sha256 }, `example.com/a@sha256:${sha256}`],
    [
      { image: `example.com/a:v1@sha256:${'b'.repeat(64)}`, sha256 },
      `example.com/a@sha256:${'b'.repeat(64)}`,
    ],
    [{ image: 'a/b:v1' }, 'a/b:v1'],
    [{ image: 'a:v1', sha256: '; reboot' }, 'a:v1'],
    [{ image: 'a; reboot' }, undefined],
    [{ image: '$(reboot)' }, undefined],
  ])('%j is %j', (container, image) => {
    expect(pinnedImage(container)).toBe(image);
  });
});

const has = (program: string, ...args: string[]) =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;
const kubectl = has('kubectl', 'version', '--client');
const kpt = has('kpt', 'version');

describe('the snippets, run by the real tools with a docker that copies its input', () => {
  const folder = temporaryFolder();
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    const docker = `#!/bin/sh\necho "$*" >> "${folder}/calls"\n[ "$1" = version ] && echo 27.0.0\n[ "$1" = run ] && exec cat\nexit 0\n`;
    await writeFile(path.join(folder, 'docker'), docker, { mode: 0o755 });
    env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: folder };
    const [config] = snippets(sections(), 'config');
    await writeFile(path.join(folder, 'render-chart.yaml'), config!);
    await writeFile(
      path.join(folder, 'config-map.yaml'),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
    );
  });

  const ran = async () => (await readFile(path.join(folder, 'calls'), 'utf8')).trim().split('\n').at(-1)!;
  const image = `registry.example.com:5000/charts@sha256:${sha256}`;

  it.skipIf(!kubectl)('kubectl kustomize (skipped without kubectl)', async () => {
    const [field, command] = snippets(sections(), 'kustomize');
    await writeFile(path.join(folder, 'kustomization.yaml'), `resources: [config-map.yaml]\n${field}`);
    const args = command!.trim().replace('kustomize build', 'kustomize').split(' ');
    await execute('kubectl', args, { cwd: folder, env });
    expect(await ran()).toMatch(/--network (?!none)/);
    expect(await ran()).toContain(image);
    await rm(path.join(folder, 'kustomization.yaml'));
  });

  it.skipIf(!kpt)('kpt eval and render (skipped without kpt)', async () => {
    const [evaluate, pipeline, render] = snippets(sections(), 'kpt');
    const head = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n';
    for (const [kptfile, command] of [
      [head, evaluate],
      [head + pipeline, render],
    ]) {
      await writeFile(path.join(folder, 'Kptfile'), kptfile!);
      const [program, ...args] = command!.trim().split(' ');
      await execute(program!, args, { cwd: folder, env });
      expect(await ran()).toMatch(/--network (?!none)/);
      expect(await ran()).toContain(image);
    }
  });
});
