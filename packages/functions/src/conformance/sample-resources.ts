import { INTERNAL_PREFIX } from '../resource-list/annotations.js';
import { readResources } from '../resource-list/read-resources.js';
import type { Resource } from '../resource-list/resource.js';

/**
 * An annotation that no function knows, and none may change (KRM Functions Specification v1, "Internal Annotations").
 */
export const MARK = `${INTERNAL_PREFIX}conformance`;
/** A field that no schema has. */
export const UNKNOWN_FIELD = 'xConformance';

/** Comments of the resources; each occurs once. */
export const COMMENTS = [
  '# the shop',
  '# how many are needed in the evening',
  '# only inside of the cluster',
  '# read by the shop when it starts',
  '# as in the contract',
  '# one for each team',
];

const mark = (number: number) => `    ${MARK}: "${number}"`;

/** Text that looks like another type, collections without content, and keys in an unusual order. */
const unknown = `${UNKNOWN_FIELD}:
  zone: "on"
  version: "1.10"
  none: {}
  list:
  - 3
  - "3"
  - b: true
    a: 0.5`;

const FILES: Readonly<Record<string, string>> = {
  'shop/deployment.yaml': `kind: Deployment
apiVersion: apps/v1
metadata:
  labels:
    tier: backend
    app: web
  name: web ${COMMENTS[0]}
  namespace: shop
  annotations:
${mark(1)}
spec:
  ${COMMENTS[1]}
  replicas: 3
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: registry.example.com/web:1.4.2
        name: web
        env:
        - value: "yes"
          name: DEBUG
  selector:
    matchLabels:
      app: web
${unknown}
`,
  'shop/parts.yaml': `apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations:
${mark(2)}
spec:
  type: ClusterIP ${COMMENTS[2]}
  ports:
  - port: 80
    name: http
  selector:
    app: web
${unknown}
---
${COMMENTS[3]}
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
${mark(3)}
    example.com/note: "012"
  name: settings
  namespace: shop
data:
  settings.yaml: |
    # not a comment of YAML
    color: blue
  enabled: "true"
${unknown}
`,
  'cluster.yaml': `apiVersion: v1
kind: Namespace
metadata:
  annotations:
${mark(4)}
  name: shop
${unknown}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: viewer
  annotations:
${mark(5)}
rules:
- verbs:
  - list
  - get
  resources:
  - pods
  apiGroups:
  - ""
${unknown}
`,
  'custom.yaml': `apiVersion: shops.example.com/v1beta2
kind: Opening
metadata:
  name: winter
  namespace: shop
  annotations:
${mark(6)}
spec:
  hours: ["10-18", "12-16"] ${COMMENTS[4]}
  team: blue ${COMMENTS[5]}
  closed: false
${unknown}
`,
};

/**
 * Returns the resources that every function is tested with: of several kinds, with and without a namespace, with
 * comments, fields that no schema has, and unusual orders of fields.
 */
export function sampleResources(): Resource[] {
  return Object.entries(FILES).flatMap(([path, text]) => readResources(text, { path }));
}

/** Returns the values in an order that the seed determines. */
export function shuffled<Value>(values: readonly Value[], seed: number): Value[] {
  const list = [...values];
  let state = seed;
  for (let last = list.length - 1; last > 0; last--) {
    // Constants of a linear congruential generator (Numerical Recipes).
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (last + 1));
    [list[last], list[other]] = [list[other]!, list[last]!];
  }
  return list;
}
