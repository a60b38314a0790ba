// The server this page came from answers what is tried; a token is kept for the
// page alone.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
follow();
dark.addEventListener('change', follow);
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  docExpansion: 'none',
  deepLinking: true,
  filter: true,
  tagsSorter: 'alpha',
  tryItOutEnabled: true,
  defaultModelsExpandDepth: -1,
  syntaxHighlight: { activated: false },
  validatorUrl: null,
});
