// A provider sends people back to one address of the console, the start. What
// they came for is kept in this tab meanwhile; it never leaves it.
const name = 'holdfast.wanted';

// awaited keeps the page's address while go leads to a provider.
export function awaited<T>(go: () => Promise<T>): Promise<T> {
  sessionStorage.setItem(name, location.pathname + location.search);
  return go();
}

// wanted is that address, once.
export function wanted(): string | null {
  const at = sessionStorage.getItem(name);
  sessionStorage.removeItem(name);
  return at?.startsWith('/console/') ? at : null;
}
