import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { readConfig } from '../../apps/registry/src/server/config.js';
import { documentBlocks } from '../document-blocks.js';
import { outputOf, spawnSync } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';
import { programPath } from './container-engine.js';
import { type Manifest, parseManifests, validateManifests, whyNoSchemas } from './manifests.js';
import { missingReason, titleWithReason } from './oci-tools.js';

const whyNoKubectl = missingReason('kubectl');
const title = 'the kustomization for several pods';

describe.skipIf(whyNoKubectl !== undefined)(titleWithReason(title, whyNoKubectl), () => {
  const { folder, remove } = temporaryFolder();
  afterAll(remove);
  let base: Manifest[];
  let single: Manifest[];
  let rendered: string;
  let overlaid: Manifest[];

  beforeAll(() => {
    base = parseManifests(outputOf('kubectl', ['kustomize', path.join(root, 'deploy/postgres-s3')]));
    single = parseManifests(outputOf('kubectl', ['kustomize', path.join(root, 'deploy')]));
    cpSync(path.join(root, 'deploy'), path.join(folder, 'deploy'), { recursive: true });
    mkdirSync(path.join(folder, 'bin'));
    const real = programPath('kubectl');
    // Commands that need a cluster must fail only because there is none. A Secret is made without one.
    writeFileSync(
      path.join(folder, 'bin/kubectl'),
      `#!/bin/sh
case "$*" in
"apply -k "*) exec ${real} kustomize "$3" > rendered.yaml ;;
*" create secret "*) exec ${real} "$@" --dry-run=client --output=yaml >> secrets.yaml ;;
*" get pods "*) echo pod/krmhub-1; exit 0 ;;
esac
said=$(${real} --server http://127.0.0.1:1 "$@" 2>&1)
echo "$said"
case "$said" in *"connection refused"*|*"was refused"*) exit 0;; *) exit 1;; esac
`,
      { mode: 0o755 },
    );
    const script = documentBlocks('docs/operate-replicas.md', 'kubectl').join('\n');
    const ran = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: cleanEnvironment(folder, {
        PATH: [path.join(folder, 'bin'), path.join(root, 'node_modules/.bin'), process.env.PATH].join(':'),
        KUBECONFIG: path.join(folder, 'none'),
      }),
      encoding: 'utf8',
    });
    if (ran.status !== 0) throw new Error(`ended with ${ran.status}:\n${ran.stdout}${ran.stderr}`);
    rendered = readFileSync(path.join(folder, 'rendered.yaml'), 'utf8');
    overlaid = parseManifests(rendered);
  });

  const find = (manifests: Manifest[], kind: string): Manifest =>
    manifests.find((manifest) => manifest.kind === kind);
  const pod = (manifests: Manifest[]) => find(manifests, 'Deployment').spec.template.spec;

  it('has these manifests', () => {
    const kinds = ['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'];
    expect(base.map(({ kind }) => kind).sort()).toEqual(kinds);
    expect(overlaid.map(({ kind }) => kind).sort()).toEqual([...kinds, 'Ingress'].sort());
    for (const { metadata } of overlaid) expect(metadata.namespace).toBe('krmhub');
  });

  it.skipIf(whyNoSchemas !== undefined)(
    titleWithReason('is valid by the strict schemas of Kubernetes', whyNoSchemas),
    () => {
      const file = path.join(folder, 'overlaid.yaml');
      writeFileSync(file, rendered);
      expect(validateManifests(file)).toEqual({ status: 0, said: '' });
      writeFileSync(file, rendered.replace('maxUnavailable', 'maxUnavailables'));
      expect(validateManifests(file)).toMatchObject({ status: 1 });
    },
  );

  it('runs the same container as the one for a single pod, with the same rights', () => {
    const spec = find(single, 'StatefulSet').spec.template.spec;
    const settings = ({ securityContext, automountServiceAccountToken, enableServiceLinks }: Manifest) => ({
      securityContext,
      automountServiceAccountToken,
      enableServiceLinks,
    });
    expect(settings(pod(base))).toEqual(settings(spec));
    const fixed = ({ envFrom, volumeMounts, readinessProbe, ...rest }: Manifest) => rest;
    expect(fixed(pod(base).containers[0])).toEqual(fixed(spec.containers[0]));
  });

  it('replaces a pod only when another one is ready, and evicts one at a time', () => {
    const { replicas, strategy, selector } = find(base, 'Deployment').spec;
    expect([replicas, strategy]).toEqual([3, { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }]);
    expect(find(base, 'PodDisruptionBudget').spec).toEqual({ maxUnavailable: 1, selector });
    const [spread] = pod(base).topologySpreadConstraints;
    expect(spread.labelSelector).toEqual(selector);
    expect(find(base, 'Service').spec.selector).toEqual(selector.matchLabels);
    expect(find(base, 'Service').spec.publishNotReadyAddresses).toBeUndefined();
  });

  it('gives a pod that stops the time to serve, and asks whether it is ready', () => {
    const { shutdownDelaySeconds } = readConfig(find(base, 'ConfigMap').data);
    const [{ readinessProbe, startupProbe }] = pod(base).containers;
    expect(startupProbe.httpGet.path).toBe('/healthz');
    expect(readinessProbe.httpGet.path).toBe('/readyz?exclude=store&exclude=blobs&exclude=catalogs');
    // The probe fails at least three times before clients no longer connect.
    expect(shutdownDelaySeconds).toBeGreaterThan(3 * readinessProbe.periodSeconds);
    expect(pod(base).terminationGracePeriodSeconds * 1_000).toBeGreaterThan(
      shutdownDelaySeconds * 1_000 + SERVER_LIMITS.shutdownMilliseconds + 5_000,
    );
  });

  it('reads valid settings from Secrets that the page creates', () => {
    const secrets = parseManifests(
      readFileSync(path.join(folder, 'secrets.yaml'), 'utf8').replaceAll(
        /^apiVersion: v1$/gm,
        '---\napiVersion: v1',
      ),
    ).filter((secret) => secret !== null);
    const named = new Map(secrets.map((secret) => [secret.metadata.name, secret.data]));
    const [{ envFrom, volumeMounts }] = pod(base).containers;
    const given = envFrom.flatMap(({ secretRef }: Manifest) =>
      secretRef === undefined ? [] : [secretRef.name],
    );
    const env = Object.fromEntries(
      given.flatMap((name: string) =>
        Object.entries(named.get(name)).map(([key, value]) => [
          key,
          Buffer.from(value as string, 'base64').toString(),
        ]),
      ),
    );
    const config = readConfig({ ...find(base, 'ConfigMap').data, ...env });
    expect(config).toMatchObject({
      databaseUrl: expect.stringContaining('sslmode=verify-full'),
      blobPlace: { bucket: 'krmhub' },
      s3Credentials: { accessKeyId: 'EXAMPLE' },
    });
    const { volumes } = pod(base);
    expect(volumeMounts.map(({ name }: Manifest) => name)).toEqual(volumes.map(({ name }: Manifest) => name));
    const keys = volumes.find(({ name }: Manifest) => name === 'keys').secret;
    expect(Object.keys(named.get(keys.secretName))).toEqual(readdirSync(path.join(folder, 'keys')));
    // The group of the pod, and nobody else.
    expect(keys.defaultMode).toBe(0o440);
  });
});
