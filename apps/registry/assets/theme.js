// @ts-check
// Runs before the page is painted, so that a chosen theme does not flash. Without it, the browser's preference applies.
try {
  const theme = localStorage.getItem('krmhub-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser does not permit storage.
}
