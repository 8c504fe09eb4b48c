import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { krmhubHere } from '../run-here.js';
import { type RunningRegistry, sharedData, startRegistry, temporaryFolder } from '../running.js';

/** Functions that other projects published, if their metadata is beside the checkout. */
const metadata = path.join(sharedData, 'kpt-metadata');
const kep = path.join(sharedData, 'definitions/kep-2906');
const official = path.join(
  sharedData,
  'definitions/krm-functions-registry/publishers/sig-cli/functions/render-helm-chart.yaml',
);
const here = existsSync(metadata) && existsSync(kep) && existsSync(official);

const { folder, remove } = temporaryFolder();
afterAll(remove);

describe.skipIf(!here)(
  `real functions (from ${path.relative(process.cwd(), sharedData)}; skipped if it does not exist)`,
  () => {
    let registry: RunningRegistry;
    beforeAll(async () => {
      registry = await startRegistry(path.join(folder, 'data'));
    });
    afterAll(() => registry.stop());

    const run = (...args: string[]) => krmhubHere(args, { cwd: folder, env: registry.env });
    const yamlFiles = (where: string) =>
      readdirSync(where, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));

    it('converts and lints the 46 of the release branches, and publishes each as a release named from its folder', async () => {
      const out = path.join(folder, 'branches');
      const converted = await run('convert', path.join(metadata, 'release-branches'), '--out', out);
      expect(converted.code, converted.stderr).toBe(0);
      expect(yamlFiles(out)).toHaveLength(46);
      const linted = await run('lint', out, '--output', 'json');
      expect(linted.code).toBe(0);
      const { errors, diagnostics } = JSON.parse(linted.stdout) as {
        errors: number;
        diagnostics: { code: string }[];
      };
      expect(errors).toBe(0);
      const codes = new Set(diagnostics.map(({ code }) => code));
      expect([...codes].some((code) => code.startsWith('image/'))).toBe(true);
      expect([...codes].some((code) => code.startsWith('schema/'))).toBe(true);

      const published = await run('publish', out, '-o', 'json');
      expect(published.code, published.stderr).toBe(0);
      const shown = await run('show', 'fn.kpt.dev/SetNamespace', '-o', 'json');
      const { releases } = JSON.parse(shown.stdout) as { releases: { release: string }[] };
      expect(releases.map(({ release }) => release)).toEqual(['0.4.0', '0.3.0', '0.2.0', '0.1.0']);
    });

    it('converts the others with --release, and names the two without an image', async () => {
      const out = path.join(folder, 'newest');
      const converted = await run(
        'convert',
        path.join(metadata, 'google-2023'),
        '--release',
        '9.0.0',
        '--out',
        out,
      );
      expect(converted.code).toBe(1);
      const complaints = converted.stderr.split('\n').filter((line) => line.startsWith('error['));
      expect(complaints).toHaveLength(2);
      for (const complaint of complaints) expect(complaint).toContain('image');
      expect(converted.stderr).toContain('set-gcp-resource-ids');
      expect(converted.stderr).toContain('set-name-prefix');
      expect(yamlFiles(out)).toHaveLength(29);
      const published = await run('publish', out, '--release', '9.0.0');
      expect(published.code, published.stderr).toBe(0);
    });

    it('finds them with typical queries', async () => {
      const first = async (...args: string[]) =>
        JSON.parse((await run('search', ...args, '-o', 'json')).stdout).items[0].kind;
      expect(await first('set', 'labels')).toBe('SetLabels');
      expect(await first('namespace')).toBe('SetNamespace');
      expect(await first('helm')).toBe('RenderHelmChart');
      expect(await first('kubeval')).toBe('Kubeval');
      expect(await first('--kind', 'SetLabels')).toBe('SetLabels');
      expect(await first('gatekeep')).toBe('Gatekeeper');
    });

    it("reports the official definition's real errors", async () => {
      const { code, stdout } = await run('lint', official, '--output', 'json');
      expect(code).toBe(1);
      const { diagnostics } = JSON.parse(stdout) as {
        diagnostics: { code: string; severity: string; message: string; line: number }[];
      };
      const lines = readFileSync(official, 'utf8').split('\n');
      const bool = diagnostics.filter(
        ({ line, severity }) => severity === 'error' && lines[line - 1]!.trim() === 'type: bool',
      );
      expect(bool).toHaveLength(2);
      expect(
        diagnostics.some(
          ({ line, code: rule }) => rule.startsWith('image/') && lines[line - 1]!.includes(':unstable'),
        ),
      ).toBe(true);
    });

    it('normalizes every example of the KEP that parses, and lists its corrections', async () => {
      const examples = ['kep-2906', 'kep-2953', 'kep-2985'].flatMap((name) =>
        readdirSync(path.join(sharedData, 'definitions', name))
          .filter((file) => /-(catalog|definition)\.yaml$/.test(file))
          .map((file) => path.join(sharedData, 'definitions', name, file)),
      );
      for (const file of examples) {
        let parses = true;
        try {
          parse(readFileSync(file, 'utf8'));
        } catch {
          parses = false;
        }
        const { stdout } = await run('lint', file, '--output', 'json');
        const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string }[] };
        const codes = diagnostics.map(({ code }) => code);
        expect([file, codes.some((code) => code.startsWith('yaml/'))]).toEqual([file, !parses]);
        if (parses)
          expect([file, codes.filter((code) => code.startsWith('dialect/')).length > 0]).toEqual([
            file,
            true,
          ]);
      }
    });

    it("serves a catalog that passes the KEP's schema with its two known errors fixed", async () => {
      const response = await fetch(`${registry.url}/catalogs/default/catalog.json?kind=KRMFunctionCatalog`);
      const catalog = (await response.json()) as { spec: { krmFunctions: unknown[] } };
      const source = parse(readFileSync(path.join(kep, 'block17-L617-schema.yaml'), 'utf8'));
      const spec = source.definitions.KRMFunctionDefinitionSpec;
      const version = spec.properties.versions.items;
      // The KEP requires `platform` and defines `platforms`; its license enum has one value, which is not
      // an SPDX expression.
      version.properties.runtime.properties.exec.required = ['platforms'];
      delete version.properties.license.enum;
      // References that lead out of the document.
      version.properties.schema.properties.openAPIV3Schema = { type: 'object' };
      source.definitions.KRMFunctionCatalog.properties.metadata = { type: 'object' };
      const ajv = new Ajv({ strict: false, allErrors: true });
      const validate = ajv.compile({
        ...source.definitions.KRMFunctionCatalog,
        definitions: source.definitions,
      });
      expect(validate(catalog) ? [] : validate.errors).toEqual([]);
      expect(catalog.spec.krmFunctions.length).toBeGreaterThanOrEqual(29);
      const prose = await (await fetch(`${registry.url}/catalogs/default/catalog.json`)).json();
      expect(prose).toEqual({ ...catalog, kind: 'Catalog' });
    });
  },
);
