/** Paths of the sample site that cover every kind of page. */
export const SAMPLE_PAGES = {
  home: '/',
  search: '/functions?tag=mutator',
  'search without results': '/functions?q=nothing+of+the+kind',
  function: '/functions/functions.example.com/SetLabels',
  'yanked release': '/functions/functions.example.com/SetLabels/releases/1.1.0',
  'deprecated function': '/functions/functions.example.com/RenameImages',
  'differences of releases': '/functions/functions.example.com/SetLabels/compare?from=1.0.0&to=2.0.0',
  'function from upstream': '/functions/example.com/JavaApplication',
  'hostile function': '/functions/hostile.example.net/Hostile',
  catalogs: '/catalogs',
  catalog: '/catalogs/platform',
  'report of a catalog': '/catalogs/platform/report',
  'differences of snapshots': '/catalogs/default/compare?from=1&to=2',
  'HTTP API': '/api',
  'sign in': '/operate/sign-in',
  'nothing there': '/functions/none.example.com/None',
} as const;
