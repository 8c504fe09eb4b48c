import { catalogBuildsContract } from './catalog-builds.js';
import { openSqliteFile } from './sqlite.js';

catalogBuildsContract('SQLite', openSqliteFile);
