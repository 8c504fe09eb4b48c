import { KRM_FUNCTIONS, type KrmFunction } from './krm-functions.js';

/**
 * The examples of KEP-993 and a validator, each as a kustomization whose functions are plugins. The documents are those
 * of the KEP but for `groupVersion` and the missing names: kustomize reads `apiVersion` and wants `metadata.name`.
 */

const KUSTOMIZATION = 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n';

const RESOURCES = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
  labels: {tier: "1"}
data:
  "on": "off"
  folded: a text with more than eighty columns, so that programs that fold long lines would fold it here
  multi: |
    first: line
      second
  quoted: '12:30'
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {tier: "1"}}
spec: {ports: [{port: 80}]}
`;
const CHART = {
  'chart/shop/templates/deployment.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  template:
    spec: {containers: [{name: main, image: {{ .Values.k1 }}}]}
`,
  'chart/shop/templates/service.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Values.k2 }}}\n',
};

/** The text of a functionConfig for a kind. */
type Config = (kind: KrmFunction, name: string, fields: string) => string;

/** Returns the functionConfig that a plugin gets; with a runtime, as kustomize needs it for a function. */
export function pluginConfig(runtime?: Partial<Record<KrmFunction, string>>): Config {
  return (kind, name, fields) => {
    const { group, version } = KRM_FUNCTIONS[kind];
    const text = runtime?.[kind]?.replace(/^(?=.)/gm, '      ');
    const annotation =
      text === undefined ? '' : `  annotations:\n    config.kubernetes.io/function: |\n${text}`;
    return `apiVersion: ${group}/${version}\nkind: ${kind}\nmetadata:\n  name: ${name}\n${annotation}${fields}`;
  };
}

const generateApp = (config: Config) => config('CommonApp', 'app', 'generate:\n  image: foo\n  size: big\n');
const transformApp = (config: Config, more = '') =>
  config(
    'CommonApp',
    'common',
    `transform:\n  namePrefix: foo-\n${more}  commonAnnotations:\n    foo: bar\n`,
  );

/** The kustomizations, by their folder: their files for a way to write functionConfigs. */
export const PLUGIN_APPS: Record<string, (config: Config, charts: string) => Record<string, string>> = {
  // "Declarative Ecosystem Solution Plugins"
  chart: (config, charts) => ({
    // With a "cross cutting transformation".
    'kustomization.yaml': `${KUSTOMIZATION}\ngenerators:\n- chart.yaml\nnamePrefix: prod-\n`,
    'chart.yaml': config(
      'Chart',
      'shop',
      `generate:\n  chart: ${charts}/shop\n  values:\n    k1: v1\n    k2: v2\n`,
    ),
    ...CHART,
  }),
  // "Bespoke Abstractions for Organizations"
  abstraction: (config) => ({
    'kustomization.yaml': `${KUSTOMIZATION}\ntransformers:\n- app.yaml\n`,
    'app.yaml': generateApp(config),
  }),
  // "Bespoke Configuration for Organizations"
  configuration: (config) => ({
    'kustomization.yaml': `${KUSTOMIZATION}resources: [resources.yaml]\n\ntransformers:\n- transform.yaml\n`,
    'transform.yaml': transformApp(config),
    'resources.yaml': RESOURCES,
  }),
  // All of them in two layers; a validator that runs last.
  layers: (config) => ({
    'kustomization.yaml': 'resources: [base]\ncommonAnnotations: {layer: top}\ntransformers: [check.yaml]\n',
    'check.yaml': config('RequireLabels', 'check', 'labels: [team]\n'),
    'base/kustomization.yaml':
      'resources: [resources.yaml]\ngenerators: [app.yaml]\ntransformers: [transform.yaml]\n',
    'base/app.yaml': generateApp(config),
    'base/transform.yaml': transformApp(config, '  commonLabels: {team: web}\n'),
    'base/resources.yaml': RESOURCES,
  }),
};
