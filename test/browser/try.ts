import { startSampleSite } from './sample-site.js';

const t = performance.now();
const site = await startSampleSite();
console.log(site.url, site.token, performance.now() - t);
await new Promise((resolve) => setTimeout(resolve, Number(process.env.KEEP ?? 1000)));
await site.close();
