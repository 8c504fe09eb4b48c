import { once } from 'node:events';
import { applyWrite, planWrite, readPackage, readResources } from '@krmhub/functions/fn';

/**
 * `node edit-package.mjs FOLDER [wait]` changes every resource of a package, deletes each tenth, and adds as many: what a killed or
 * failing process does not finish, others must complete or undo. With `wait`, it writes when its input says so.
 */
const read = await readPackage(process.argv[2]);
const resources = read.resources.flatMap((resource, at) => {
  const { name } = resource.identity;
  if (at % 10 === 9) {
    return readResources(resource.text(), { path: `added/${at}/${name}.yaml` });
  }
  return readResources(resource.text().replace('value: old', 'value: new'), { path: resource.path });
});
const plan = planWrite(read, resources);
console.log('writing');
if (process.argv[3] === 'wait') {
  await once(process.stdin, 'data');
  process.stdin.destroy();
}
try {
  await applyWrite(read, plan);
  console.log('written');
} catch (error) {
  console.log(`failed: ${error.code}: ${error.message}`);
  process.exitCode = 1;
}
