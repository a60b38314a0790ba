import { familyTitle, titleOf, useCatalog, usePermissions } from '../lib/catalog';
import { _ } from '../lib/i18n';
import { Card, Head, Skeleton } from '../ui/basic';

// Everything lists all that the person may see, by family.
export function Everything() {
  const catalog = useCatalog();
  const p = usePermissions();
  if (!catalog || !p) return <Skeleton lines={8} />;
  const families = new Map<string, string[]>();
  for (const c of catalog.values())
    if (p.collections[c.name]?.read) families.set(c.family, [...(families.get(c.family) ?? []), c.name]);
  return (
    <>
      <Head title={_('All records')} sub={_('Everything that your role may see, with what it is.')} />
      <div class="grid">
        {[...families].map(([family, names]) => (
          <Card key={family} flush title={familyTitle(family)}>
            <ul class="lines">
              {names.map((n) => (
                <li key={n}>
                  <span class="grow">
                    <a class="strong" href={`/console/c/${n}`}>
                      {titleOf(n)}
                    </a>
                    <span class="small muted" style={{ display: 'block' }}>
                      {_(catalog.get(n)?.doc ?? '')}
                    </span>
                  </span>
                </li>
              ))}
            </ul>
          </Card>
        ))}
      </div>
    </>
  );
}
