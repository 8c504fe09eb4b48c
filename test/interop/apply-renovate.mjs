// Makes the updates of a report in the files of a repository, with the code by which Renovate makes them for a pull
// request: the platform `local` only looks them up. Arguments: the folder of Renovate's modules, the repository, the report.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const [modules, repository, report] = process.argv.slice(2);
const load = (name) => import(path.join(modules, name));
const { GlobalConfig } = await load('config/global.js');
const { doAutoReplace } = await load('workers/repository/update/branch/auto-replace.js');
GlobalConfig.set({ localDir: repository });
const { packageFiles } = JSON.parse(readFileSync(report, 'utf8')).repositories.local;
for (const [manager, files] of Object.entries(packageFiles)) {
  for (const { deps, ...file } of files) {
    for (const [depIndex, { updates, ...dep }] of deps.entries()) {
      const update = updates.at(-1);
      if (update === undefined) continue;
      const name = path.join(repository, file.packageFile);
      const upgrade = { ...file, ...dep, ...update, manager, depIndex };
      writeFileSync(name, await doAutoReplace(upgrade, readFileSync(name, 'utf8'), false));
    }
  }
}
