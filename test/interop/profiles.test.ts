import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Ajv } from 'ajv';
import { load, loadAll } from 'js-yaml';
import { afterAll, describe, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { root, sharedData } from '../running.js';
import { isInstalled } from './container-engine.js';
import { buildGoProgram } from './go-program.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/** Reads profiles with the programs that they are made for. */

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-profiles-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const golden = (name: string) => path.join(root, 'test/golden', name);
const { file: kyaml, whyNot: noKyaml } = buildGoProgram('kyaml');
const decode = (file: string) => spawnSync(kyaml, { input: readFileSync(file), encoding: 'utf8' });

describe.skipIf(noKyaml !== undefined)(
  titleWithReason("kustomize's definitions, strictly decoded", noKyaml),
  () => {
    it('accept the profile kustomize-prototype, with every runtime and its digest', () => {
      const { stdout, stderr } = decode(golden('profiles/kustomize-prototype.yaml'));
      expect(stderr).toBe('');
      const { spec } = JSON.parse(stdout) as {
        spec: {
          krmFunctions: {
            names: { kind: string };
            versions: { runtime: { container: { image: string; network?: boolean } } }[];
          }[];
        };
      };
      const containers = spec.krmFunctions.flatMap(({ versions }) =>
        versions.map(({ runtime }) => runtime.container),
      );
      expect(containers.length).toBeGreaterThan(7);
      expect(containers.filter(({ image }) => !image.includes('@sha256:')).map(({ image }) => image)).toEqual(
        ['registry.example.com/unpinned:v3'],
      );
      expect(containers.filter(({ network }) => network)).toHaveLength(2);
    });

    it('accept an empty catalog', () => {
      expect(decode(golden('profiles/empty-kustomize-prototype.yaml')).stderr).toBe('');
    });

    it('refuse a catalog in the KEP format, so the profile is needed', () => {
      const { status, stderr } = decode(golden('render/catalog.yaml'));
      expect(status).toBe(1);
      expect(stderr).toContain('unknown field "sha256"');
    });
  },
);

describe.skipIf(!isInstalled('kubectl'))(titleWithReason('kubectl', missingReason('kubectl')), () => {
  it('reads the objects of the profile porch', () => {
    copyFileSync(golden('profiles/porch.yaml'), path.join(folder, 'porch.yaml'));
    writeFileSync(path.join(folder, 'kustomization.yaml'), 'resources: [porch.yaml]\n');
    const { stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const names = (text: string) =>
      (loadAll(text) as { kind: string; metadata: { name: string } }[])
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
        .sort();
    expect(names(stdout)).toEqual(names(readFileSync(golden('profiles/porch.yaml'), 'utf8')));
  });
});

type Schema = { [key: string]: unknown; properties?: Record<string, Schema> };

const kepSchema = path.join(sharedData, 'definitions/kep-2906/block17-L617-schema.yaml');

describe.skipIf(!existsSync(kepSchema))("the KEP's own schema (only if shared/data exists)", () => {
  const validator = () => {
    const { definitions } = load(readFileSync(kepSchema, 'utf8')) as { definitions: Schema };
    // Its remote references: any metadata, any schema.
    const source = JSON.stringify(definitions).replace(
      /"\$ref":"(?:https:|#\/definitions\/io\.)[^"]*"/g,
      '"type":"object"',
    );
    const catalog = { definitions: JSON.parse(source), $ref: '#/definitions/KRMFunctionCatalog' };
    return new Ajv({ strict: false }).compile(catalog);
  };

  it('accepts the profile kep-schema, with and without functions', () => {
    const validate = validator();
    for (const name of ['kep-schema.yaml', 'empty-kep-schema.yaml']) {
      validate(load(readFileSync(golden(`profiles/${name}`), 'utf8')));
      expect(validate.errors).toBeNull();
    }
  });

  it('refuses a catalog in our format, so the profile is needed', () => {
    const validate = validator();
    for (const name of ['render/krmfunctioncatalog.yaml', 'profiles/kep.yaml']) {
      expect(validate(load(readFileSync(golden(name), 'utf8')))).toBe(false);
    }
  });
});

const porchSchema = path.join(
  sharedData,
  'porch/api/porchconfig/v1alpha1/config.porch.kpt.dev_functionconfigs.yaml',
);

describe.skipIf(!existsSync(porchSchema))("Porch's own CRD (only if shared/data exists)", () => {
  /** Like an API server that refuses unknown fields. */
  const closed = (schema: Schema): Schema => {
    if (schema.properties === undefined) return schema;
    const inner = Object.entries(schema.properties).map(([name, one]) => [name, closed(one)]);
    return { ...schema, properties: Object.fromEntries(inner), additionalProperties: false };
  };

  it('accepts every object of the profile porch, and no additional field', () => {
    const { spec } = load(readFileSync(porchSchema, 'utf8')) as {
      spec: {
        group: string;
        names: { kind: string };
        versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
      };
    };
    const [version] = spec.versions;
    const schema = closed(version!.schema.openAPIV3Schema);
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    const objects = loadAll(readFileSync(golden('profiles/porch.yaml'), 'utf8')) as {
      spec: { podExecutor: object };
    }[];
    expect(objects.length).toBeGreaterThan(7);
    for (const object of objects) {
      validate(object);
      expect(validate.errors).toBeNull();
      expect(object).toMatchObject({
        apiVersion: `${spec.group}/${version!.name}`,
        kind: spec.names.kind,
      });
      expect(validate({ ...object, spec: { ...object.spec, sha256: 'a' } })).toBe(false);
    }
  });
});
