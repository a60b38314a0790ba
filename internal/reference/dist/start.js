// The server this page came from answers what is tried; a token is kept for the
// page alone.
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
