import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { readMemory } from './process-figures.js';

/** Packages for rows that run pipelines of functions. */

/** Resources in one file. */
const PER_FILE = 5;
const FILES_PER_FOLDER = 100;

/** Writes a package whose Kptfile has this pipeline, and as many resources: Deployments, Services, and ConfigMaps. */
export async function writePackage(folder: string, resources: number, kptfile: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'Kptfile'), kptfile);
  for (let first = 0; first < resources; first += PER_FILE) {
    const file = first / PER_FILE;
    const inner = path.join(folder, `part-${Math.floor(file / FILES_PER_FOLDER)}`);
    if (file % FILES_PER_FOLDER === 0) await mkdir(inner);
    const count = Math.min(PER_FILE, resources - first);
    const documents = Array.from({ length: count }, (_, at) => resource(first + at));
    await writeFile(path.join(inner, `file-${file}.yaml`), documents.join('---\n'));
  }
}

function resource(index: number): string {
  const name = `app-${index}`;
  const metadata = `metadata:\n  name: ${name}\n  labels:\n    app: ${name}\n    round: "0" # set by functions\n`;
  if (index % 3 === 1) {
    return `apiVersion: v1\nkind: Service\n${metadata}spec:\n  selector:\n    app: ${name}\n  ports:\n    - name: http\n      port: 80\n      targetPort: 8080\n`;
  }
  if (index % 3 === 2) {
    return `# Settings of ${name}\napiVersion: v1\nkind: ConfigMap\n${metadata}data:\n  level: info\n  app.ini: |\n    a = 1\n    b = 2\n`;
  }
  return `apiVersion: apps/v1
kind: Deployment
${metadata}spec:
  replicas: 2
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      # in the order of their start
      containers:
        - name: app
          image: registry.example.com/team/${name}:v1.0.0
          ports:
            - containerPort: 8080
        - name: proxy
          image: docker.io/envoyproxy/envoy:v1.30.1
`;
}

/** Returns the text of every file of a folder by its path. */
export async function readFolder(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    found.set(path.relative(folder, file), await readFile(file, 'utf8'));
  }
  return found;
}

/** Runs a program to its end, and returns the largest peak of its memory that was seen, without its children. */
export async function peakMemory(
  [program, args]: readonly [string, string[]],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore'], env });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  let peak = 0;
  for (let running = true; running; ) {
    try {
      peak = Math.max(peak, readMemory(child.pid!, { own: true }).peak);
    } catch {
      // It has ended.
    }
    running = await Promise.race([ended.then(() => false), setTimeout(10, true)]);
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`);
  return peak;
}
