import type { Command } from 'commander';
import type { Io } from '../io/io.js';
import { registerCatalogApply } from './catalog/apply.js';
import { registerCatalogBuild } from './catalog/build.js';
import { registerCatalogDelete } from './catalog/delete.js';
import { registerCatalogDiff } from './catalog/diff.js';
import { registerCatalogHistory } from './catalog/history.js';
import { registerCatalogInputs } from './catalog/inputs.js';
import { registerCatalogList } from './catalog/list.js';
import { registerCatalogPull } from './catalog/pull.js';
import { registerCatalogReport } from './catalog/report.js';
import { registerCatalogRestore } from './catalog/restore.js';
import { registerCatalogShow } from './catalog/show.js';
import { registerCatalogVerify } from './catalog/verify.js';

export function registerCatalog(program: Command, io: Io): void {
  const catalog = program
    .command('catalog')
    .summary('Build, show, compare, and pull catalogs.')
    .description('Build catalogs from recipes, and show, compare, and pull them.')
    .addHelpText(
      'after',
      `
Examples:
  krmhub catalog build recipe.yaml --out catalog.yaml
  krmhub catalog apply recipe.yaml
  krmhub catalog report platform
  krmhub catalog list
  krmhub catalog diff default
  krmhub catalog pull default --out catalog.yaml
  krmhub catalog verify default --key registry.pub`,
    );
  registerCatalogApply(catalog, io);
  registerCatalogBuild(catalog, io);
  registerCatalogList(catalog, io);
  registerCatalogShow(catalog, io);
  registerCatalogHistory(catalog, io);
  registerCatalogDiff(catalog, io);
  registerCatalogReport(catalog, io);
  registerCatalogPull(catalog, io);
  registerCatalogInputs(catalog, io);
  registerCatalogVerify(catalog, io);
  registerCatalogDelete(catalog, io);
  registerCatalogRestore(catalog, io);
}
