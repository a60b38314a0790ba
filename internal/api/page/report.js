// The report page, a question a screen. Without this script the page is one form that does the same.
(() => {
  const longestSide = 1600;
  const quality = 0.8;
  const kept = `holdfast.report ${location.pathname}`;

  const load = () => {
    try {
      return JSON.parse(sessionStorage.getItem(kept)) ?? {};
    } catch {
      return {};
    }
  };
  const save = (draft) => {
    try {
      sessionStorage.setItem(kept, JSON.stringify(draft));
    } catch {
      // A store that is full or forbidden keeps nothing over a reload.
    }
  };

  const form = document.getElementById('report');
  if (document.querySelector('[data-state="thanks"]')) sessionStorage.removeItem(kept);
  if (!form) return;

  const steps = [...form.querySelectorAll('section')];
  const isRefused = !!document.querySelector('.wrong:not([hidden])');
  const shot = document.getElementById('shot');
  const unread = document.getElementById('unread');
  const file = form.elements.photo;
  const typed = ['kind', 'severity', 'where', 'what', 'when', 'name'];
  let draft = load();

  // What the server shows again is newer than what this device kept; the file of a form it never shows again.
  function fillForm() {
    for (const name of typed) {
      if (!isRefused && draft[name] && form.elements[name]) form.elements[name].value = draft[name];
    }
    if (!isRefused && draft.once) form.elements.once.value = draft.once;
    const details = form.querySelector('details');
    details.open = details.open || !!(form.elements.when.value || form.elements.name.value);
    keepTyped();
  }

  function keepTyped() {
    draft = { photo: draft.photo, once: form.elements.once.value };
    for (const name of typed) draft[name] = form.elements[name]?.value ?? '';
    save(draft);
    const legend = form.querySelector('[data-injury]');
    legend.textContent = draft.kind === 'injury' ? legend.dataset.injury : legend.dataset.other;
  }

  const mostStep = () => (!draft.kind ? 0 : !draft.severity ? 1 : steps.length - 1);
  const stepOf = () => Math.max(0, Math.min(mostStep(), (Number(location.hash.slice(1)) || 1) - 1));

  function showStep() {
    steps.forEach((s, i) => (s.hidden = i !== stepOf()));
    for (const s of steps) {
      for (const mark of s.querySelectorAll('.step')) mark.textContent = countedText(steps.indexOf(s));
    }
    scrollTo(0, 0);
    steps[stepOf()].querySelector('legend').focus({ preventScroll: true });
  }

  const countedText = (i) => form.dataset.step.replace('{n}', i + 1).replace('{m}', steps.length);

  // goTo shows the step at once: a finger that is quick meets no button of the step it has left.
  function goTo(i) {
    keepTyped();
    if (i !== stepOf()) history.pushState(null, '', `#${i + 1}`);
    showStep();
  }

  // goOn leaves a step whose answers are there.
  function goOn(i) {
    for (const field of steps[i].querySelectorAll('input, textarea')) if (!field.reportValidity()) return;
    goTo(i + 1);
  }

  function buttonOf(text, kind, act) {
    const b = document.createElement('button');
    b.type = 'button';
    b.className = kind;
    b.textContent = text;
    b.addEventListener('click', act);
    return b;
  }

  function furnishStep(s, i) {
    const mark = document.createElement('p');
    mark.className = 'step';
    s.prepend(mark);
    const row = document.createElement('p');
    row.className = 'ways';
    if (i > 0) row.append(buttonOf(form.dataset.back, 'quiet', () => goTo(i - 1)));
    if (i < steps.length - 1) row.append(buttonOf(form.dataset.next, '', () => goOn(i)));
    s.append(row);
    // A finger or a mouse chooses and goes on; the arrows of a keyboard only choose (their clicks count nothing).
    for (const pick of s.querySelectorAll('.pick')) {
      pick.addEventListener('click', (e) => {
        if (!e.detail || e.target.tagName === 'INPUT') return;
        e.preventDefault();
        pick.querySelector('input').checked = true;
        goOn(i);
      });
      pick.querySelector('input').addEventListener('click', (e) => e.detail && goOn(i));
    }
  }

  async function shrinkPicture(blob) {
    const bitmap = await createImageBitmap(blob, { imageOrientation: 'from-image' });
    const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(bitmap.width * scale));
    canvas.height = Math.max(1, Math.round(bitmap.height * scale));
    canvas.getContext('2d').drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    bitmap.close();
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', form.dataset.photo);
    return canvas;
  }

  // showPhoto puts a picture made small into the form in the place of what the camera took.
  async function showPhoto(canvas, url) {
    const bytes = Uint8Array.from(atob(url.slice(url.indexOf(',') + 1)), (c) => c.charCodeAt(0));
    const put = new DataTransfer();
    put.items.add(new File([bytes], 'photo.jpg', { type: 'image/jpeg' }));
    file.files = put.files;
    shot.querySelector('canvas')?.remove();
    shot.prepend(canvas);
    shot.hidden = false;
  }

  function dropPhoto() {
    draft.photo = undefined;
    save(draft);
    file.value = '';
    shot.querySelector('canvas')?.remove();
    shot.hidden = true;
  }

  async function takePhoto() {
    unread.hidden = true;
    const chosen = file.files[0];
    if (!chosen) return dropPhoto();
    try {
      const canvas = await shrinkPicture(chosen);
      draft.photo = canvas.toDataURL('image/jpeg', quality);
      await showPhoto(canvas, draft.photo);
      save(draft);
    } catch {
      dropPhoto();
      unread.hidden = false;
    }
  }

  async function restorePhoto() {
    if (!draft.photo) return;
    try {
      const bytes = Uint8Array.from(atob(draft.photo.slice(draft.photo.indexOf(',') + 1)), (c) => c.charCodeAt(0));
      await showPhoto(await shrinkPicture(new Blob([bytes])), draft.photo);
    } catch {
      dropPhoto();
    }
  }

  function sendForm(e) {
    const at = stepOf();
    if (at < steps.length - 1) {
      e.preventDefault();
      return goOn(at);
    }
    for (const field of steps[at].querySelectorAll('input, textarea')) {
      if (field.reportValidity()) continue;
      e.preventDefault();
      return;
    }
    keepTyped();
    setSending(true);
  }

  function setSending(is) {
    form.querySelector('[type="submit"]').disabled = is;
    document.getElementById('sending').hidden = !is;
  }

  document.documentElement.className = 'stepped';
  form.noValidate = true; // a field of another step cannot be shown: each step checks its own
  steps.forEach(furnishStep);
  fillForm();
  form.addEventListener('input', keepTyped);
  form.addEventListener('submit', sendForm);
  file.addEventListener('change', () => void takePhoto());
  shot.querySelector('button').addEventListener('click', dropPhoto);
  addEventListener('hashchange', showStep);
  addEventListener('pageshow', () => setSending(false));
  void restorePhoto();
  if (isRefused) {
    const wrong = steps.findIndex((s) => s.querySelector('.wrong:not([hidden])'));
    history.replaceState(null, '', `#${(wrong < 0 ? steps.length - 1 : wrong) + 1}`);
  }
  showStep();
})();
