import { startBehindBalancer, stopEngines } from './behind-balancer.js';
import { replicasMissing } from './missing.js';

/** Takes the place of `krmhub serve` in scripts: DATA COUNT. Settings are in the environment. */
const [data, count] = process.argv.slice(3) as [string, string];
if (replicasMissing !== undefined) {
  console.error(`Several processes need PostgreSQL and versitygw: ${replicasMissing}.`);
  process.exit(2);
}
const settings = Object.entries(process.env).filter(([name]) => name.startsWith('KRMHUB_'));
const registry = await startBehindBalancer(
  data,
  Object.fromEntries(settings) as Record<string, string>,
  Number(count),
);
console.log(`serves ${registry.url}`);
process.once('SIGTERM', async () => {
  const code = await registry.stop();
  await stopEngines();
  process.exit(code ?? 1);
});
