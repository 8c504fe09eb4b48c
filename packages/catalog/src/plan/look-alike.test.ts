import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isGroup } from '@krmhub/schema/gvk';
import { describe, expect, it } from 'vitest';
import { findEncodedLabel, findSimilarKind, lookAlikeFinder } from './look-alike.js';

const data = fileURLToPath(new URL('../../../../../shared/data', import.meta.url));

/** Groups of projects that publish for Kubernetes. */
const KNOWN = `apiextensions.k8s.io apps.kruise.io argoproj.io cert-manager.io cilium.io cluster.x-k8s.io
  config.istio.io config.kubernetes.io config.openshift.io core.oam.dev crossplane.io external-secrets.io flagger.app
  flux.weave.works fn.kpt.dev gateway.networking.k8s.io helm.cattle.io helm.toolkit.fluxcd.io
  infrastructure.cluster.x-k8s.io jaegertracing.io karpenter.k8s.aws karpenter.sh keda.sh kpt.dev krew.googlecontainertools.github.com
  kubeflow.org kubevirt.io kustomize.config.k8s.io kustomize.toolkit.fluxcd.io kyverno.io linkerd.io longhorn.io
  metal3.io metallb.io monitoring.coreos.com networking.istio.io networking.k8s.io notification.toolkit.fluxcd.io
  operator.openshift.io operators.coreos.com pkg.crossplane.io policy.linkerd.io porch.kpt.dev projectcontour.io
  rbac.authorization.k8s.io rook.io route.openshift.io scheduling.k8s.io secrets-store.csi.x-k8s.io
  security.istio.io serving.knative.dev eventing.knative.dev snapshot.storage.k8s.io source.toolkit.fluxcd.io
  spark.apache.org storage.k8s.io tekton.dev telemetry.istio.io templates.gatekeeper.sh traefik.io velero.io
  constraints.gatekeeper.sh wgpolicyk8s.io alice.github.io bob.github.io`.split(/\s+/);

/** A random number generator with a seed, so that a failure repeats. */
function randomly(seed: number) {
  let state = seed;
  const below = (most: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  const pick = <Item>(items: ArrayLike<Item>): Item => items[below(items.length)]!;
  const word = (least: number, most: number) =>
    Array.from({ length: least + below(most - least + 1) }, () => pick('abcdefghijklmnopqrstuvwxyz')).join(
      '',
    );
  return { below, pick, word };
}

const SUFFIXES = ['com', 'io', 'dev', 'org', 'net', 'sh', 'cloud', 'de', 'co.uk', 'github.io', 'internal'];
const BELOW = ['', '', 'fn.', 'functions.', 'platform.'];

function reasonFor(group: string, known: string): string | undefined {
  return lookAlikeFinder([known])(group)?.reason;
}

describe('a new group', () => {
  it.each([
    ['examp1e.com', 'example.com', 'both look the same'],
    ['exarnple.com', 'example.com', 'both look the same'],
    ['vveave.works', 'weave.works', 'both look the same'],
    ['k8s.lo', 'k8s.io', 'both look the same'],
    ['kbs.io', 'k8s.io', 'both look the same'],
    ['fn.examp1e.com', 'functions.example.com', 'examp1e.com and example.com look the same'],
    ['exam-ple.com', 'example.com', 'both look the same'],
    ['fn-kpt.dev', 'fn.kpt.dev', 'both look the same'],
    ['exanple.com', 'example.com', 'exanple.com differs from example.com in one character'],
    ['a.b.exampl.com', 'functions.example.com', 'exampl.com differs from example.com in one character'],
    ['exmaple.com', 'example.com', 'exmaple.com differs from example.com in one character'],
    ['k9s.io', 'k8s.io', 'k9s.io differs from k8s.io in one character'],
    ['example.con', 'example.com', 'example.con differs from example.com in one character'],
    ['alicee.github.io', 'alice.github.io', 'differs from alice.github.io in one character'],
    ['platfrom.example.com', 'platform.example.com', 'its label "platfrom" differs from "platform"'],
    ['function.example.com', 'functions.example.com', 'its label "function" differs from "functions"'],
    ['example.com.evil.net', 'example.com', 'it contains example.com'],
    ['x.example.com.evil.net', 'fn.example.com', 'it contains example.com'],
    ['examp1e.com.evil.net', 'example.com', 'it contains example.com'],
    ['example-com.net', 'example.com', 'its label "example-com" is example.com without dots'],
    ['functions.examplecom.net', 'example.com', 'its label "examplecom" is example.com without dots'],
    ['fn-example-com.net', 'fn.example.com', 'its label "fn-example-com" is example.com without dots'],
    ['popularr.co', 'popular.io', 'popularr differs from popular in one character'],
    ['fn.exanple.co.uk', 'functions.example.com', 'exanple differs from example in one character'],
    ['examp1e.net', 'example.com', 'examp1e and example look the same'],
    ['exam-ple.org', 'example.com', 'exam-ple and example look the same'],
    ['dev.kpt', 'kpt.dev', 'it has the same labels in another order'],
  ])('%s looks like %s', (group, known, reason) => {
    expect(reasonFor(group, known)).toContain(reason);
  });

  it.each([
    ['example.net', 'example.com'],
    ['example.co', 'example.com'],
    ['example.co.uk', 'example.com'],
    ['example.com.br', 'example.com'],
    ['functions.example.com', 'example.com'],
    ['example.com', 'functions.example.com'],
    ['security.example.com', 'functions.example.com'],
    ['team-2.example.com', 'team-1.example.com'],
    ['team12.example.com', 'team1.example.com'],
    ['app-us.example.com', 'app-eu.example.com'],
    ['a.com', 'b.com'],
    ['bob.github.io', 'alice.github.io'],
    ['flex.io', 'flux.dev'],
    ['examples.internal', 'example.com'],
    ['example.com', 'example.com'],
  ])('%s does not look like %s', (group, known) => {
    expect(reasonFor(group, known)).toBeUndefined();
  });

  it('can have an encoded label', () => {
    expect(findEncodedLabel('fn.xn--exmple-cua.com')).toBe('xn--exmple-cua');
    expect(findEncodedLabel('xn.x--n.com')).toBeUndefined();
  });

  it('is never the reason for itself among known groups that do not look alike', () => {
    const find = lookAlikeFinder(KNOWN);
    expect(KNOWN.map(find).filter((one) => one !== undefined)).toEqual([]);
  });
});

describe('random groups', () => {
  const CHANGES: Record<string, (owner: string, random: ReturnType<typeof randomly>) => string> = {
    insertion: (owner, { below, pick }) => {
      const at = below(owner.length + 1);
      return owner.slice(0, at) + pick('abcxyz7') + owner.slice(at);
    },
    deletion: (owner, { below }) => {
      const at = below(owner.length);
      return owner.slice(0, at) + owner.slice(at + 1);
    },
    substitution: (owner, { below, pick }) => {
      const at = below(owner.length);
      return owner.slice(0, at) + pick('abcxyz7') + owner.slice(at + 1);
    },
    transposition: (owner, { below }) => {
      const at = below(owner.length - 1);
      return owner.slice(0, at) + owner[at + 1] + owner[at] + owner.slice(at + 2);
    },
    'a look-alike character': (owner, { pick }) =>
      pick([
        owner.replace('o', '0'),
        owner.replace('l', '1'),
        owner.replace('i', 'l'),
        owner.replace('m', 'rn'),
        owner.replace('w', 'vv'),
        owner.replaceAll('s', '5'),
      ]),
    'a hyphen': (owner, { below }) => {
      const at = 1 + below(owner.length - 1);
      return `${owner.slice(0, at)}-${owner.slice(at)}`;
    },
  };

  it.each(Object.entries(CHANGES))('are refused after %s in the domain, both ways', (_, change) => {
    const random = randomly(7);
    let changed = 0;
    for (let count = 0; count < 2_000; count++) {
      const owner = random.word(6, 12);
      const other = change(owner, random);
      const suffix = random.pick(SUFFIXES);
      const groups = [owner, other].map((one) => `${random.pick(BELOW)}${one}.${suffix}`);
      if (owner === other) continue;
      changed += 1;
      for (const [group, known] of [groups, [...groups].reverse()] as [string, string][]) {
        expect(isGroup(group)).toBe(true);
        expect([group, known, reasonFor(group, known)]).toEqual([group, known, expect.any(String)]);
      }
    }
    expect(changed).toBeGreaterThan(500);
  });

  it('are alike both ways, or neither way, unless one contains the other', () => {
    const random = randomly(3);
    let alike = 0;
    for (let count = 0; count < 5_000; count++) {
      const [owner, suffix] = [random.word(3, 5), random.pick(SUFFIXES)];
      const change = random.pick(Object.values(CHANGES));
      const one = `${random.pick(BELOW)}${owner}.${suffix}`;
      const other = `${random.pick(BELOW)}${change(change(owner, random), random)}.${random.pick(['dev', suffix])}`;
      const reasons = [reasonFor(one, other), reasonFor(other, one)];
      if (reasons.some((reason) => /contains|without dots/.test(reason ?? ''))) continue;
      alike += reasons[0] === undefined ? 0 : 1;
      expect([one, other, ...reasons.map((reason) => reason === undefined)]).toEqual([
        one,
        other,
        ...Array(2).fill(reasons[0] === undefined),
      ]);
    }
    expect(alike).toBeGreaterThan(100);
  });

  it('that are unrelated are refused in less than 1 of 100 cases', () => {
    const random = randomly(1);
    const name = () => `${random.pick(BELOW)}${random.word(3, 12)}.${random.pick(SUFFIXES)}`;
    const find = lookAlikeFinder(Array.from({ length: 1_000 }, name));
    const refused = Array.from({ length: 10_000 }, name).map(find).filter(Boolean);
    expect(refused.length).toBeLessThan(100);
  });
});

const hasData = existsSync(data);
it.skipIf(!hasData)(
  `groups of real files are not refused${hasData ? '' : ' (skipped: the files are not there)'}`,
  () => {
    const groups = [...new Set([...KNOWN, ...readGroups(data)])];
    expect(groups.length).toBeGreaterThan(KNOWN.length + 10);
    const find = lookAlikeFinder(groups);
    expect(groups.map(find).filter(Boolean)).toEqual([]);
  },
);

/** Every group in the apiVersion or the group field of a file. */
function readGroups(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const file = path.join(folder, name);
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return [];
    const fields = readFileSync(file, 'utf8').matchAll(
      /(?:apiVersion"?:\s*"?([a-z0-9.-]+)\/v\w+|\bgroup"?:\s*"?([a-z0-9.-]+)"?\s*,?\s*$)/gm,
    );
    return [...fields].map(([, version, group]) => version ?? group!).filter(isGroup);
  });
}

describe('a new kind', () => {
  it.each([
    ['SetLabel', 'SetLabels'],
    ['setlabels', 'SetLabel'],
    ['SetLabesl', 'SetLabels'],
  ])('%s is similar to %s', (kind, known) => {
    expect(findSimilarKind(kind, ['Other', known])).toBe(known);
  });

  it.each([
    ['SetLabels', 'SetNamespace'],
    ['SetLabels', 'SetLabels'],
    ['Fix', 'Fox'],
  ])('%s is not similar to %s', (kind, known) => {
    expect(findSimilarKind(kind, [known])).toBeUndefined();
  });
});
