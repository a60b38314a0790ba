-- The addresses from which a factor was passed last, newest first, as a JSON
-- list: whoever asks for a text from one of them is its owner, or sits beside.
alter table mfa_factors add column passed_from text;
