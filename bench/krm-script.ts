import { parse, stringify } from 'yaml';

/** A function as platform teams write them: labels everywhere, and images from a mirror. */
export const KRM_SCRIPT = `
def set_labels(metadata, labels):
    own = metadata.setdefault("labels", {})
    for key in labels:
        own[key] = labels[key]

def move_images(pod, rules):
    for field in ["initContainers", "containers"]:
        for container in pod.get(field, []):
            for rule in rules:
                if container["image"].startswith(rule["from"]):
                    container["image"] = rule["to"] + container["image"][len(rule["from"]):]
                    break

def transform(items, config):
    for item in items:
        set_labels(item["metadata"], config["labels"])
        template = item.get("spec", {}).get("template")
        if template != None:
            set_labels(template["metadata"], config["labels"])
            move_images(template["spec"], config["rules"])

transform(ctx.resource_list["items"], ctx.resource_list["functionConfig"]["spec"])
`;

interface Container {
  name: string;
  image: string;
}
interface Labeled {
  metadata: { name?: string; labels?: Record<string, string> };
}
interface Template extends Labeled {
  spec: { containers: Container[]; initContainers?: Container[] };
}
interface Resource extends Labeled {
  apiVersion: string;
  kind: string;
  spec?: { template?: Template; [field: string]: unknown };
  data?: Record<string, string>;
}
interface ResourceList {
  apiVersion: string;
  kind: string;
  items: Resource[];
  functionConfig: { spec: { labels: Record<string, string>; rules: { from: string; to: string }[] } };
}

/** What each resource has in the output, and no resource in the input. */
export const MARK = 'set-by-the-bench';

/** The input of the script, with a third each of Deployments, Services, and ConfigMaps. */
export function resourceList(resources: number): ResourceList {
  return {
    apiVersion: 'config.kubernetes.io/v1',
    kind: 'ResourceList',
    items: Array.from({ length: resources }, (_, index) => resource(index)),
    functionConfig: {
      spec: {
        labels: { 'example.com/owner': MARK },
        rules: [
          { from: 'quay.io/', to: 'mirror.example.com/quay/' },
          { from: 'registry.example.com/', to: 'mirror.example.com/' },
        ],
      },
    },
  };
}

function resource(index: number): Resource {
  const name = `app-${index}`;
  const metadata = { name, labels: { app: name } };
  if (index % 3 === 1) {
    const ports = [{ name: 'http', port: 80, targetPort: 8080 }];
    return { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: name }, ports } };
  }
  if (index % 3 === 2) {
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { level: 'info', 'app.ini': 'a = 1\nb = 2\n' },
    };
  }
  const container = { name: 'app', image: `registry.example.com/team/${name}:v1.${index}.0` };
  const template = {
    metadata: { labels: { app: name } },
    spec: { containers: [container, { name: 'proxy', image: 'docker.io/envoyproxy/envoy:v1.30.1' }] },
  };
  const selector = { matchLabels: { app: name } };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 2, selector, template } };
}

export const toYaml = (list: ResourceList): string => stringify(list, { aliasDuplicateObjects: false });

/** The same function in JavaScript. */
export function transformYaml(text: string): string {
  const list: ResourceList = parse(text);
  const { labels, rules } = list.functionConfig.spec;
  const setLabels = ({ metadata }: Labeled) => {
    metadata.labels = { ...metadata.labels, ...labels };
  };
  for (const item of list.items) {
    setLabels(item);
    const template = item.spec?.template;
    if (template === undefined) continue;
    setLabels(template);
    for (const container of [...(template.spec.initContainers ?? []), ...template.spec.containers]) {
      const rule = rules.find(({ from }) => container.image.startsWith(from));
      if (rule !== undefined) container.image = rule.to + container.image.slice(rule.from.length);
    }
  }
  return toYaml(list);
}

/** The same script for the command of starlark-go, which has no YAML: it decodes and encodes JSON. */
export function jsonProgram(list: ResourceList): string {
  const input = `_list = json.decode(${JSON.stringify(JSON.stringify(list))})\n`;
  return `${input}${KRM_SCRIPT.replaceAll('ctx.resource_list', '_list')}print(json.encode(_list["items"]))\n`;
}
